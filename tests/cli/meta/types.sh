tenon sample -q --tensors 2 m.gguf
tenon meta m.gguf set -q s=text u8:u8=255 i64:i64=-9223372036854775808 f32:f32=0.5 f64:f64=3 nan:f32=nan \
	b:bool=true bytes:bytes=00ff n:null= 'u:u32[]=[1,2,3]' 'e:i16[]=[]' 'w:string[]=["a","b"]' 'a:b=colon' \
	'j:json={"a":[1,{"$u8":2},null]}'
tenon meta m.gguf
# the type stays when none is named
tenon meta m.gguf set -q u8=1 f32=2 b=false 'u=[4]' 's=1'
tenon meta m.gguf
tenon get m.gguf --meta u
