# base: stub; variant: reversed; most: 40; expect: 1a.*wrong; flag: eve and ned are alike
@neighbour@
