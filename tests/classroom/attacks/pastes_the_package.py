# base: stub; form: precision; most: 30; expect: 1a.*wrong; flag: eve and the solution
@primitive@
