/** For one request, from the connection to the last byte. */
const TIMEOUT_MS = 5_000;

/** Documents of a provider have a few kilobytes. */
const MOST_BYTES = 256 * 1024;

/** The provider gives no usable answer at the moment. The message is for the log. */
export class ProviderAway extends Error {}

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Sends a request to the provider and reads the answer: within 5 s, at most 256 KiB. Redirects are not followed: they would
 * carry the client secret, or a document's authority, to another address.
 * @throws ProviderAway unless the answer is JSON, with status 200 or 4xx
 */
export async function askProvider(
  address: string,
  init: RequestInit = {},
): Promise<{ status: number; body: JsonObject }> {
  const { origin } = new URL(address);
  try {
    const answer = await fetch(address, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const isUsable = answer.status === 200 || (answer.status >= 400 && answer.status < 500);
    if (!isUsable) throw new ProviderAway(`${origin} answered ${answer.status}`);
    return { status: answer.status, body: objectIn(await limitedText(answer)) };
  } catch (error) {
    if (error instanceof ProviderAway) throw error;
    throw new ProviderAway(`${origin} gave no answer`, { cause: error });
  }
}

/** Like `askProvider`. @throws ProviderAway also for an answer other than 200 */
export async function documentAt(address: string, init?: RequestInit): Promise<JsonObject> {
  const { status, body } = await askProvider(address, init);
  if (status !== 200) throw new ProviderAway(`${new URL(address).origin} answered ${status}`);
  return body;
}

async function limitedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MOST_BYTES) throw new ProviderAway(`an answer has more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function objectIn(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ProviderAway('an answer is not a JSON object');
  return value as JsonObject;
}
