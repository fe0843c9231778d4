# A file that is cut while it is read: one line, a status of 3 or 4, and nothing left. The reader of the pipe holds the
# command up until the file is cut.
cut() { # FILE COMMAND...
	file=$1
	shift
	mkfifo pipe
	timeout 20 "$@" >pipe 2>error &
	{
		dd bs=1 count=1 of=/dev/null 2>/dev/null
		truncate -s 4096 "$file"
		cat >/dev/null
	} <pipe
	wait $!
	echo "status $?"
	sed 's/at byte [0-9]*/at byte N/g' error
	rm pipe
}
safetensors '{"t":{"dtype":"U8","shape":[8000000],"data_offsets":[0,8000000]}}' >whole
head -c 8000000 /dev/zero >>whole
for io in auto mmap pread; do
	cp whole t.safetensors
	cut t.safetensors tenon get --io $io t.safetensors t
done
# Metadata stay in the map: what is gone of it raises SIGBUS. Where there is no map they were read at once.
{ printf 'GGUF' && bytes 4 3 && bytes 8 0 && bytes 8 1 && bytes 8 1 && printf a && bytes 4 9 && bytes 4 8 && bytes 8 1000000 &&
	head -c 8000000 /dev/zero; } >whole
for io in auto mmap pread; do
	cp whole t.gguf
	cut t.gguf tenon get --io $io t.gguf --meta a
done
# Converted, hashed or verified meanwhile: done before, or told.
rm whole t.*
for work in hash 'verify --deep' 'convert out.bpk --no-sync'; do
	set -- $work
	verb=$1
	shift
	safetensors '{"t":{"dtype":"U8","shape":[100000000],"data_offsets":[0,100000000]}}' >t.safetensors
	truncate -s $(($(wc -c <t.safetensors) + 100000000)) t.safetensors
	timeout 20 tenon $verb t.safetensors "$@" >/dev/null 2>error &
	truncate -s 4096 t.safetensors
	wait $!
	case $? in 0 | 3 | 4) echo told ;; *) echo "status $?" && cat error ;; esac
	rm -f out.bpk
done
ls
