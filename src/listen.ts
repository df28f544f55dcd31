import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { type Configuration, OperatorError } from './platform/config/index.js';

const ANSWER_WITHIN_MS = 1_000;

/**
 * Starts the service on its address. The address is tested before anything else starts, so a port that is in use costs
 * nothing. PORT=0 is replaced by the port found, because tokens carry the public address. That port stays bound while the
 * service starts; otherwise another process could get it.
 * @throws OperatorError when the address cannot be used
 */
export async function listen(
  configuration: Configuration,
  create: (configuration: Configuration) => Promise<NestFastifyApplication>,
): Promise<NestFastifyApplication> {
  const { host, port } = configuration;
  const holder = await probeAddress(port, host);
  let app: NestFastifyApplication;
  if (port === 0) {
    configuration.port = (holder.address() as AddressInfo).port;
    app = await create(configuration).finally(() => closed(holder));
  } else {
    await closed(holder); // it may occupy the requested port
    if (await isAnswered(port, host)) throw asOperatorError({ code: 'EADDRINUSE' }, port, host);
    app = await create(configuration);
  }
  try {
    await app.listen({ port: configuration.port, host });
    return app;
  } catch (error) {
    await app.close();
    throw asOperatorError(error, configuration.port, host);
  }
}

/** Listens on a free port of the host to verify that the address belongs to this machine. `port` is only for the message. */
function probeAddress(port: number, host: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const holder = createServer((socket) => socket.destroy());
    holder.once('error', (error) => reject(asOperatorError(error, port, host)));
    holder.listen({ port: 0, host }, () => resolve(holder));
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/** Connects instead of briefly listening on the port: listening would cut off clients that wait for this service to start. */
function isAnswered(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const answer = (isTaken: boolean) => () => {
      socket.destroy();
      resolve(isTaken);
    };
    socket.setTimeout(ANSWER_WITHIN_MS, answer(false));
    // A connection whose local port equals the target port may have connected to itself.
    socket.once('connect', () => answer(socket.localPort !== port)());
    socket.once('error', answer(false));
  });
}

function asOperatorError(error: unknown, port: number, host: string): Error {
  const sentences: Record<string, string> = {
    EADDRINUSE: `Port ${port} is in use; stop the process that listens there, or set PORT to another one (0 finds a free one).`,
    EACCES: `Port ${port} needs privileges that this user does not have; set PORT to 1024 or above.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; set HOST to 127.0.0.1 or 0.0.0.0.`,
    ENOTFOUND: `${host} is not an address of this machine; set HOST to 127.0.0.1 or 0.0.0.0.`,
  };
  const sentence = sentences[(error as NodeJS.ErrnoException).code ?? ''];
  if (sentence === undefined) return error instanceof Error ? error : new Error(String(error));
  return new OperatorError(sentence, { cause: error });
}
