import type { FastifyReply, FastifyRequest } from 'fastify';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

/** Below, compressing takes longer than sending. */
const WORTH_BYTES = 8 * 1024;

const compress = promisify(brotliCompress);

/** Brotli at its quickest: it takes a quarter of gzip's time, and JSON of hashes gets no smaller for more. */
const QUICKLY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Answers with a JSON text, compressed when it is large and the client takes brotli. */
export async function sendJsonText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
): Promise<void> {
  void reply.type('application/json; charset=utf-8').header('vary', 'accept-encoding');
  const isWorthIt = text.length >= WORTH_BYTES && takesBrotli(request.headers['accept-encoding']);
  if (!isWorthIt) {
    await reply.send(Buffer.from(text)); // a text Node.js would join with the head, measure and copy once more
    return;
  }
  await reply.header('content-encoding', 'br').send(await compress(text, QUICKLY));
}

/** Only one that names it: `*` may be anything. */
function takesBrotli(accepted: string | undefined = ''): boolean {
  return accepted.split(',').some((coding) => {
    const [name = '', ...parameters] = coding.split(';').map((part) => part.trim().toLowerCase());
    return name === 'br' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}
