numbers >n.safetensors
for s in 2 0:3 2:1 -3 :,:,: a 1: :1x 99999999999999999999; do
	status tenon get n.safetensors x --as text --slice $s
done
