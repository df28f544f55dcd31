const words = (text: string): string[] => text.split(' ');

/** Unexpected text that is valid in some places. */
// prettier-ignore
export const ODD_TEXTS: readonly string[] = [
  'a', '0', '-', '_', '~', 'A'.repeat(22), 'AA==', 'b64_-',
  ...words('laptop null true NaN 1e5 -1 __proto__ constructor toString $1'),
  "'; DROP TABLE users; --",
  '\\', '%00', '%2e%2e', '{}', '[]', ' ', '\u00a0', 'ä', 'a\u0308', '\u202eabc', '\ufeff', '\ufffd', '\uffff',
  '😀', '👩‍👩‍👧‍👦', 'ｆｕｌｌ', 'ß', 'İ', 'x'.repeat(50), 'x'.repeat(100), '~'.repeat(128), 'é'.repeat(255),
  'a'.repeat(1024), 'a'.repeat(4096), 'A'.repeat(8192), '0'.repeat(64), 'aB'.repeat(32), 'ff'.repeat(16),
  'fF'.repeat(64), `${'A'.repeat(43)}=`, 'B'.repeat(87), 'state-of_0123456789', 'a/b.md', 'Ünïcode/näme.md',
  '.hidden', 'a b.md', 'note.md', 'auto', 'manual', 'delete', '*', '"*"', 'a,b', ';',
];

const LARGE = [2 ** 31 - 1, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER];
export const ODD_NUMBERS: readonly number[] = [0, 1, 2, 9, 10, 100, 1000, ...LARGE];

/** Texts per format of a schema. */
export const FORMATS: Readonly<Record<string, readonly string[]>> = {
  uuid: [
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '01890A5D-AC96-774B-BCCE-B302099A8057',
  ],
  email: words("somebody@example.org SOMEBODY@EXAMPLE.ORG o'neill+x@example.org ä@example.org"),
  uri: words(
    'https://push.example.org/a https://push.example.org:443/ä?x=%00 https://127.0.0.1/ https://[::1]/',
  ),
  'date-time': words('2099-01-01T00:00:00.000Z 9999-12-31T23:59:59.999Z'),
};

/** JSON that has no, or another, JavaScript value. */
export const RAW_JSON: readonly string[] = [
  ...words("1e400 -1e400 -0 01 0x10 NaN Infinity undefined 'a' 9007199254740993 1e-400"),
  ...words('{"__proto__":{"admin":true}} {"constructor":{"prototype":{"admin":true}}} {"a":1,"a":2}'),
  ...words(String.raw`"\u0000" "\ud800" "\udc00\ud800" "\x" "unfinished [1,] {"a":1,} /**/1`),
  '\u00a01',
  '"\t"',
  '',
];

/** A segment of a path, or a value in a query. */
// prettier-ignore
export const HOSTILE_PARTS: readonly string[] = [
  ...words('%00 % %zz %ff %c0%ae %2e%2e .. . %2f %252f'),
  '', ' ', '%20', '%0d%0aX: 1', ';x=1', '0', '-1', 'null', 'undefined', '{id}', ':id', '*', 'a'.repeat(5000),
  '%F0%9F%98%80', '\u0000', '\u00ff', '?', '#',
  ...words('01890a5d-ac96-774b-bcce-b302099a8057 01890a5dac96774bbcceb302099a8057'),
  ...words('{01890a5d-ac96-774b-bcce-b302099a8057} 01890a5d-ac96-774b-bcce-b302099a805'),
  ...words('01890a5d-ac96-774b-bcce-b302099a805g urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057'),
];

// prettier-ignore
export const HOSTILE_HEADERS: readonly string[] = [
  '', ' ', '\u0000', '\u00ff\u00fe', 'a\tb', ',', ',,', '"', '"*', 'W/', 'W/"', '*, *', '""', 'bytes',
  'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=1e3-', `bytes=${'9'.repeat(400)}-`, 'bytes=-0',
  'bytes=0-18446744073709551616', 'bytes=--1', 'x'.repeat(129), 'x'.repeat(4000), 'g'.repeat(64),
  '0'.repeat(63), '0'.repeat(65), 'two words', 'ünï', '../x', "' OR 1=1", 'Bearer', 'Basic YTpi',
  'chunked, gzip', 'text/html;q=nonsense', '%00', '{}', 'null', '-1', '[object Object]',
];

/** Headers that no operation expects, and some that only others do. */
export const STRAY_HEADERS: readonly string[] = [
  ...words('Accept Accept-Encoding Accept-Language Content-Encoding Content-Language Cookie Origin Referer'),
  ...words(
    'X-HTTP-Method-Override X-Forwarded-For X-Forwarded-Proto X-Request-Id Forwarded If-Modified-Since',
  ),
  ...words('If-Match If-None-Match If-Range Range Idempotency-Key X-Content-Hash X-Device-Id X-Workspace-Id'),
  ...words('X-Key-Session Authorization Upgrade Sec-WebSocket-Key Access-Control-Request-Method Prefer Via'),
];

// prettier-ignore
export const HOSTILE_TYPES: readonly string[] = [
  '', 'text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'multipart/form-data',
  'nonsense', ';', '/', 'multipart/form-data; boundary=x', 'application/json; charset=utf-16',
  'application/json; charset="', 'APPLICATION/JSON', ' application/json', 'application/json\t',
  'application/json, text/plain', 'application/vnd.api+json', 'application/json;',
];

export const METHODS: readonly string[] = words('HEAD OPTIONS GET POST PUT PATCH DELETE TRACE PROPFIND');

export const FORM_FIELDS: readonly string[] = words(
  'csrf_token intent email password current_password new_password revoke_tokens name id scopes workspace expiry ' +
    'client_state return_to scheme',
);
