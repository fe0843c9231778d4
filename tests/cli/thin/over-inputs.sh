# Manifest and pages make one model: none of them gives its place to the archive; nor does the archive to a page.
tenon sample -q --no-sync m.thin
tenon unpack -q --no-sync m.thin dir
page=$(cd dir/pages && ls | head -1)
cp -r dir same
ln -s dir/manifest.json link
status tenon pack --no-sync dir/manifest.json dir/pages dir/manifest.json
status tenon pack --no-sync dir/manifest.json dir/pages link
status tenon pack --no-sync dir/manifest.json dir/pages "dir/pages/$page"
diff -r dir same
status tenon repack --no-sync m.thin m.thin
cp m.thin dir/manifest.json
status tenon unpack --no-sync --replace dir/manifest.json dir
cmp m.thin dir/manifest.json
