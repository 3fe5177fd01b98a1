#!/usr/bin/env bash
# Chromium without a window, as Debian packages it: a client, which speaks HTTP/3 alone. A page
# fetches what is asked for and says the SHA-256 of what came; a file that has it in the server's
# folder is copied to where downloads go.
set -Eeuo pipefail

if [[ ${1:-} == prepare ]]; then
    for program in chromium openssl; do
        command -v "$program" >/dev/null && continue
        echo "no $program: install it" >&2
        exit 1
    done
    exit
fi

case $ROLE/$TESTCASE in
client/handshake | client/transfer | client/http3 | client/retry | client/chacha20) ;;
*) exit 127 ;;
esac
# It has no option for windows.
[[ -z ${WINDOW:-} ]] || exit 127

read -ra requests <<<"${REQUESTS:?no URLs}"
authority=${requests[0]#https://}
authority=${authority%%/*}
# A name, as Chromium 156 forces QUIC on no IPv6 address: it has tried TCP alone for `[::1]:4433`.
named=server.test:${authority##*:}
names=$(printf '"%s",' "${requests[@]##*/}")
cat >"$WWW/page.html" <<PAGE
<!doctype html><pre id=said></pre><script>
performance.setResourceTimingBufferSize(10000);
const hashed = async name => {
  const body = await (await fetch('/' + name)).arrayBuffer();
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
  const hex = Array.from(hash, byte => byte.toString(16).padStart(2, '0')).join('');
  const by = performance.getEntriesByName(location.origin + '/' + name)[0].nextHopProtocol;
  return [hex, by, name].join(' ');
};
Promise.all([$names].map(hashed)).then(
  lines => { said.textContent = '\n' + lines.join('\n') + '\n'; },
  error => { said.textContent = '\n' + error + '\n'; });
</script>
PAGE
key=$(openssl x509 -in "$CERTS/cert.pem" -noout -pubkey | openssl pkey -pubin -outform der |
    openssl dgst -sha256 -binary | base64)
# The script's time stands still while a request is under way.
said=$(chromium --headless --no-sandbox --disable-gpu --dump-dom --virtual-time-budget=20000 \
    --user-data-dir="$DOWNLOADS/.profile" --origin-to-force-quic-on="$named" \
    --host-resolver-rules="MAP server.test ${authority%:*}" \
    --ignore-certificate-errors-spki-list="$key" "https://$named/page.html")
while read -r hash by name; do
    [[ $by == h3 && -f $WWW/$name ]] || continue
    if [[ $(sha256sum <"$WWW/$name") == "$hash "* ]]; then
        cp "$WWW/$name" "$DOWNLOADS/$name"
    fi
done <<<"$said"
# What is missing says the rest of it.
head -c 400 <<<"$said"
