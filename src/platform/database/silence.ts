import type { Socket } from 'node:net';
import type { Client, ClientBase } from 'pg';

/** After a pause of this process, answers that arrived in the meantime are read first. */
const SECOND_LOOK_MS = 500;
const GOODBYE_WITHIN_MS = 1_000;

/**
 * Destroys a connection on which nothing was received or sent for this long. The server cancels a statement that takes too
 * long, so a silent connection is one that the network has lost: otherwise its caller would wait forever, and the pool would
 * never get its connection back.
 */
export function endWhenSilent(client: ClientBase, afterMs: number): void {
  const stream = streamOf(client);
  stream.setTimeout(afterMs);
  stream.on('timeout', () => {
    const { bytesRead, bytesWritten } = stream;
    setTimeout(() => {
      const isStill = stream.bytesRead === bytesRead && stream.bytesWritten === bytesWritten;
      if (isStill && stream.timeout) stream.destroy(silence());
    }, SECOND_LOOK_MS).unref();
  });
}

/** Runs `work` while the connection may be silent, for example while it waits for a lock. */
export async function withoutSilenceLimit<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  const stream = streamOf(client);
  const afterMs = stream.timeout ?? 0;
  stream.setTimeout(0);
  try {
    return await work();
  } finally {
    stream.setTimeout(afterMs);
  }
}

/** Closes a connection outside the pool, after a short wait also when the server does not answer. Never rejects. */
export async function endQuietly(client: Client): Promise<void> {
  const giveUp = setTimeout(() => streamOf(client).destroy(), GOODBYE_WITHIN_MS);
  await client.end().catch(() => undefined);
  clearTimeout(giveUp);
}

/** Counts as a lost connection. */
function silence(): Error {
  return Object.assign(new Error('the database server no longer answers'), { code: 'ETIMEDOUT' });
}

/** Reaches into the driver, which has no API for this. */
function streamOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
