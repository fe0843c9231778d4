for c in ls info get convert split merge verify hash map meta pack unpack repack formats sample; do
	tenon help $c
	tenon $c --help >again && tenon help $c | cmp - again
done
