# What is no file is named, and waited for by none of the commands.
tenon sample -q --no-sync g.apr
mkfifo fifo && mkdir dir && ln -s loop loop && ln -s /dev/zero link
try() { timeout 20 tenon "$@" 2>&1 || echo "status $?"; }
for in in fifo dir loop link /dev/null; do
	echo "== $in"
	for command in ls info 'verify --deep' hash map meta 'meta set a=b' 'get a' 'convert o.bpk' 'split set' 'merge o.bpk' \
		'stamp o.apr --license MIT' 'repack o.thin' 'unpack set' 'plan --vram 1G' 'verify --repair o.gguf'; do
		set -- $command
		verb=$1
		shift
		case $verb:$1 in
		verify:* | plan:*) try "$verb" "$in" "$@" ;;
		meta:set) try meta set "$in" a=b ;;
		*) try "$verb" "$in" "$@" ;;
		esac
	done | sort | uniq -c | sed 's/^ *//'
done
echo == others
try convert g.apr o.thin --config fifo
try pack fifo dir o.thin
try pack g.apr fifo o.thin
try hash g.apr --check loop
try stamp g.apr o.apr --vocabulary /dev/zero
try hash g.apr --check /dev/zero
ls
