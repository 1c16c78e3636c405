# Runs on the other machine: sh remote.sh WORK STACK-KIB PROBE [ARGUMENT...]
#
# Starts the probe in a session and directory of its own and exits as it exits, with 128 + n for
# signal n. If ssh's end of it is gone, the probe is killed: sshd alone would let it live.
# Exit 255 is also what ssh says of a lost connection, so the probe's own 255 leaves a file, WORK.255.
work=$1 stack=$2
shift 2
ulimit -c 0
ulimit -S -s "$stack" 2>/dev/null
mkdir -p "$work" && cd "$work" && [ -x "$1" ] || exit 255
sshd=$PPID
exec 3<&0 </dev/null
env -i LC_ALL=C TZ=UTC PATH="$PATH" setsid "$@" <&3 3<&- &
probe=$!
exec 3<&-
(
    while [ -d "/proc/$sshd" ]; do sleep 0.3 || sleep 1; done
    kill -9 "-$probe" "$probe"
    rm -rf "$work"
) >/dev/null 2>&1 &
watch=$!
wait "$probe" 2>/dev/null
status=$?
kill -9 "-$probe" "$watch" 2>/dev/null
cd / && rm -rf "$work"
[ "$status" -ne 255 ] || : >"$work.255"
exit "$status"
