# A word that is no type is no part of a key that is there.
tenon sample -q m.bpk
status tenon meta m.bpk set layers:uint32=5
status tenon meta -q m.bpk set new:uint32=5 && tenon meta m.bpk get new:uint32
status tenon meta -q m.bpk set new:uint32=6 && tenon meta m.bpk get new:uint32
