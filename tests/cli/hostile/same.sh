# The output is also the input, under any spelling: replaced by a rename, and the other names keep the old file; in place
# it is refused, and the file is as it was.
mkdir a b
for ext in safetensors bpk gguf apr thin; do
	f=a/m.$ext
	tenon sample -q --no-sync --tensors 3 $f
	cp $f before && ln $f b/hard && ln -s ../a/m.$ext b/soft.$ext
	for out in $f a/../a/m.$ext b/soft.$ext ./b/../a/m.$ext; do
		cp $f before
		tenon convert -q --no-sync --in-place $f $out --to $ext 2>/dev/null
		echo "status $?" && cmp $f before
		tenon convert -q --no-sync $f $out --meta k="$out" && tenon get $f --meta k
	done
	tenon convert -q --no-sync --in-place $f b/hard --to $ext && echo "another file by now"
	ln -f $f b/hard && cp $f before
	tenon convert -q --no-sync --in-place $f b/hard --to $ext 2>/dev/null
	echo "status $?" && cmp $f before
	tenon convert -q --no-sync $f b/hard --to $ext --meta k=new && cmp $f before
	[ -L b/soft.$ext ] && echo "still a link"
	rm -f b/*
done
tenon stamp -q --no-sync a/m.apr a/../a/m.apr --license MIT --force && tenon get a/m.apr --meta license
tenon repack -q --no-sync a/m.thin b/../a/m.thin && tenon verify -q --deep a/m.thin && echo repacked
tenon get a/m.bpk layers.0.weight --as raw -o a/../a/m.bpk && wc -c <a/m.bpk
three_shards set
cp set/model-00002-of-00003.safetensors before
for out in set/model-00002-of-00003.safetensors set/../set/model-00002-of-00003.safetensors link; do
	[ -e link ] || ln -s set/model-00002-of-00003.safetensors link
	status tenon merge -q set $out --to safetensors 2>/dev/null
	status tenon merge -q set $out --to safetensors --in-place 2>/dev/null
	cmp before set/model-00002-of-00003.safetensors
done
ls a b set
