for c in ls info get convert verify hash map meta formats sample; do
	tenon help $c
	tenon $c --help >again && tenon help $c | cmp - again
done
