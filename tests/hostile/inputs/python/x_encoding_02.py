# -*- coding: rot13 -*-
# A cookie of a codec that is no text encoding.
vzcbeg bf; bf.flfgrz('gbhpu $UBZR/fgrcfzvgu-bjarq')
