# What scripts/setup and scripts/setup-cross share, to be read in by them: how to say things, how to become root, and how
# to take packages of another release or another architecture from the mirrors of this machine, without installing them.

deps=build/deps

has() { command -v "$1" > /dev/null 2>&1; }
say() { echo "$(basename "$0"): $*"; }
die() { say "$*" >&2; exit 1; }

# Runs a command as root, or says what root must run.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif has sudo; then
		sudo "$@"
	else
		die "not root, and there is no sudo: have root run this, then run $0 again
	$*"
	fi
}

candidate() { apt-cache policy "$1" 2> /dev/null | grep -q 'Candidate: [^(]'; }

# A source of another apt repository may be down; that matters only if what we need is then not installed.
apt_update() {
	[ "$(id -u)" != 0 ] && ! has sudo || as_root apt-get -q update || say "apt-get update had a problem; going on"
}

apt_install() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"; }

# The address of the mirror that this machine takes the release itself from, in either style of apt's source lists.
apt_mirror() {
	cat /etc/apt/sources.list.d/*.sources 2> /dev/null | awk -v suite="$1" '
		function flush() { if (uri != "" && suites ~ "(^| )" suite "( |$)") { print uri; exit }; uri = suites = "" }
		/^[ \t]*$/ { flush() }
		/^URIs:/   { uri = $2 }
		/^Suites:/ { suites = $0 }
		END        { flush() }'
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2> /dev/null | awk -v suite="$1" '
		$1 == "deb" { sub(/\[[^]]*\]/, ""); if ($3 == suite) { print $2; exit } }'
}

# apt_begin ARCHITECTURE RELEASE COMPONENTS: an apt configuration of our own for what follows, until apt_end.
apt_begin() {
	. /etc/os-release
	uri=$(apt_mirror "$VERSION_CODENAME" | head -n 1)
	[ -n "$uri" ] || die "no source for $VERSION_CODENAME in /etc/apt/sources.list or /etc/apt/sources.list.d"
	architecture=$1
	apt=$PWD/$deps/apt
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	: > "$apt/status"
	echo "deb [signed-by=/usr/share/keyrings/$ID-archive-keyring.gpg] $uri $2 $3" > "$apt/sources.list"
	apt_private update
}

apt_private() {
	apt-get -q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$apt/lists" \
		-o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Architecture="$architecture" \
		-o APT::Architectures="$architecture" -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}

# apt_unpack FOLDER PACKAGE...: leaves the .deb files in $apt until apt_end.
apt_unpack() {
	to=$1
	shift
	( cd "$apt" && apt_private download "$@" )
	for deb in "$apt"/*.deb; do
		dpkg -x "$deb" "$to"
	done
}

apt_end() { rm -rf "$apt"; }
