# Numbers by value; groups of one on one line; a name that is also a group; slashes.
t() { printf '"%s":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}%s' "$1" "$2" "$(($2 + 1))" "$3"; }
safetensors "{$(t h.10.w 0 ,)$(t h.9.w 1 ,)$(t h.9.b 2 ,)$(t h.01.w 3 ,)$(t a/b/c.d 4 ,)$(t a/b/c.e 5 ,)$(t lone.some.name 6 ,)$(t x 7 ,)$(t x.y 8 ,)$(t x.z 9 )}" >t.safetensors
printf 0123456789 >>t.safetensors
tenon ls --tree t.safetensors
