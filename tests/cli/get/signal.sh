# The same for the files of get: a reader of numbers that is stopped.
safetensors '{"t":{"dtype":"F64","shape":[1000000],"data_offsets":[0,8000000]}}' >t.safetensors
yes 0123456789abc | head -c 8000000 >>t.safetensors
{
	tenon get t.safetensors t --as text -o out &
	pid=$!
	while ! ls out.* && kill -0 $pid; do :; done
	kill -TERM $pid
	wait $pid
} >/dev/null 2>&1
rm -f out && ls
