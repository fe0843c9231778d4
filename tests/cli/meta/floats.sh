# Whole numbers are floats too where the type says so, and what is printed for what is not finite is taken back.
tenon sample -q m.bpk
tenon meta -q m.bpk set 'x:f32[]=[1,2.5,-3]' n:f32=NaN m:f64=-Infinity p:float=inf w:float=7
tenon meta m.bpk | tail -n 5
tenon meta -q m.bpk set 'x=[4,5]' && tenon meta m.bpk get x
