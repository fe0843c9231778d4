# Stopped in the middle of writing: the old file stays, no temporary file does.
tenon sample -q --no-sync --size 64M big.safetensors
echo old >out.bpk
{
	tenon convert big.safetensors out.bpk &
	pid=$!
	while ! ls out.bpk.* && kill -0 $pid; do :; done
	kill -TERM $pid
	wait $pid
} >/dev/null 2>&1
case $? in
143) cat out.bpk ;;
*)   echo old ;; # it was done before
esac
ls
