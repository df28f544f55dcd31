const VALIDATORS = { ETag: 'The content hash, in quotes.' };
const BYTES = { 'application/octet-stream': {} };

export const DOWNLOAD_HEADERS = {
  Range: { description: '`bytes=…`: one range.' },
  'If-Range': { description: 'An ETag: the range counts only for this content.' },
  'If-None-Match': { description: 'ETags that the client has.' },
} as const;

/** Of every route that answers a version's bytes. */
export const DOWNLOAD_ANSWERS = {
  200: {
    description: 'the ciphertext',
    content: BYTES,
    headers: { ...VALIDATORS, 'Accept-Ranges': 'bytes', 'Content-Length': 'Its size.' },
  },
  206: {
    description: 'the range that was asked for',
    content: BYTES,
    headers: { ...VALIDATORS, 'Content-Range': '`bytes <first>-<last>/<size>`' },
  },
  304: { description: 'the client has it', headers: VALIDATORS },
  416: 'the range is outside the file',
} as const;
