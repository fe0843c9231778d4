# stopped by a full limit of the size of files, then gone on with
tenon sample -q big.safetensors --size 4MB --no-sync
mkdir ref && tenon convert -q big.safetensors ref/out.thin --no-sync
status sh -c 'trap "" XFSZ; ulimit -f 4000; exec tenon convert --resume big.safetensors out.thin --no-sync' 2>error
grep -c 'File too large' error
ls -A
status tenon convert -q --resume big.safetensors out.thin --no-sync
cmp out.thin ref/out.thin
ls -A
