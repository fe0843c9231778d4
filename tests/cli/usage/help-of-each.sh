for c in ls info get convert split merge verify hash map meta stamp pack unpack repack plan simulate profile formats sample; do
	tenon help $c
	tenon $c --help >again && tenon help $c | cmp - again
done
