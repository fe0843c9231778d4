tenon sample -q --tensors 2 m.gguf
tenon meta m.gguf set -q u:u8=7
cp m.gguf before
for item in u=256 u=-1 u=text u=1.5 u= =7 u k:u8=300 k:f32=1e39 'k:u8[]=[1,256]' 'k:u8[]=[1],"x":[2]' k:json=nothing k:bool=1 k:bytes=0g
do
	status tenon meta m.gguf set "$item"
done
status tenon meta m.gguf rm nothing
status tenon meta m.gguf list
status tenon meta m.gguf get
status tenon meta m.gguf set
status tenon meta - set a=b <m.gguf
status tenon meta m.gguf rm nothing --json
cmp m.gguf before && echo untouched
