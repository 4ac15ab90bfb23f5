# base: stub; variant: precision; most: 10; expect: 1a.*wrong; flag: eve and ibpcl.primitives are alike
@primitive@
