import type { Socket } from 'node:net';
import type { Client, ClientBase } from 'pg';

/** After a pause of this process, answers that have come meanwhile are read first. */
const SECOND_LOOK_MS = 500;
const GOODBYE_WITHIN_MS = 1_000;

/**
 * Ends a connection on which nothing has come or gone for so long. The server itself ends a statement that takes too long,
 * so this is one that the network has swallowed: without it, whoever waits there would wait for ever, and the pool
 * would never have its connection back.
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

/** Runs `work` while the connection may be silent, as one that waits for a lock is. */
export async function mayBeSilent<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  const stream = streamOf(client);
  const afterMs = stream.timeout ?? 0;
  stream.setTimeout(0);
  try {
    return await work();
  } finally {
    stream.setTimeout(afterMs);
  }
}

/** Ends a connection outside the pool, and soon also when the server says nothing. Never rejects. */
export async function endQuietly(client: Client): Promise<void> {
  const giveUp = setTimeout(() => streamOf(client).destroy(), GOODBYE_WITHIN_MS);
  await client.end().catch(() => undefined);
  clearTimeout(giveUp);
}

/** It counts as a lost connection. */
function silence(): Error {
  return Object.assign(new Error('the database server does not answer any more'), { code: 'ETIMEDOUT' });
}

/** The driver has no words for it. */
function streamOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
