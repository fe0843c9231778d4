# f16, bf16, the f8 family, f64, c64, bool: special values, the smallest and the largest.
d() { printf '"%s":{"dtype":"%s","shape":[%d],"data_offsets":[%d,%d]}%s' "$1" "$1" "$2" "$3" "$4" "$5"; }
safetensors "{$(d F64 3 0 24 ,)$(d C64 1 24 32 ,)$(d F16 7 32 46 ,)$(d BF16 5 46 56 ,)$(d F8_E4M3 6 56 62 ,)$(d F8_E5M2 5 62 67 ,)$(d F8_E8M0 4 67 71 ,)$(d BOOL 2 71 73 )}" >f.safetensors
{
	printf '\232\231\231\231\231\231\271\077'
	printf '\001\000\000\000\000\000\000\000'
	printf '\000\000\000\000\000\000\360\377'
	printf '\000\000\300\077\000\000\000\200'
	for h in 0 32768 1 31743 31744 32256 11878; do bytes 2 $h; done
	for h in 16256 32639 32640 32704 1; do bytes 2 $h; done
	printf '\000\200\001\070\176\177'
	printf '\001\074\173\174\177'
	printf '\000\177\376\377'
	printf '\000\001'
} >>f.safetensors
for t in F64 C64 F16 BF16 F8_E4M3 F8_E5M2 F8_E8M0 BOOL; do
	tenon get f.safetensors $t --as text
done
tenon get f.safetensors C64 --json && tenon get f.safetensors F8_E5M2 --json
