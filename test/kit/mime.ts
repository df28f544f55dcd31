/** A message whose parts are all text. */
interface Message {
  /** Unfolded, by name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded parts by media type. */
  readonly parts: Readonly<Record<string, string>>;
}

/** Parses a message: its headers, and its decoded text parts. */
export function partsOf(raw: string): Message {
  const { headers, body } = split(raw);
  const { 'content-type': type = 'text/plain' } = headers;
  const [, boundary] = /boundary="([^"]+)"/.exec(type) ?? [];
  if (boundary === undefined)
    return { headers, parts: { [mediaType(type)]: decoded(headers, body).replaceAll('\r\n', '\n') } };
  const inner = body.split(`--${boundary}`).slice(1, -1);
  const parts = inner.map((part) => partsOf(part.replace(/^\r\n/, '')).parts);
  return { headers, parts: Object.assign({}, ...parts) as Record<string, string> };
}

function split(raw: string): { headers: Record<string, string>; body: string } {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const fields = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ]);
  return { headers: Object.fromEntries(fields) as Record<string, string>, body: raw.slice(end + 4) };
}

const mediaType = (type: string): string => type.split(';')[0]!.trim().toLowerCase();

function decoded(
  { 'content-transfer-encoding': encoding = '7bit' }: Message['headers'],
  body: string,
): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
