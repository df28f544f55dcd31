import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createServer } from 'node:net';
import { type Configuration, StartupError } from './config/index.js';

/**
 * Starts the service on its address. The address is tried before anything else is brought up, so a taken port costs
 * nothing; PORT=0 becomes the port found, because it is part of the public address that tokens carry.
 * @throws StartupError when the address cannot be used
 */
export async function listen(
  configuration: Configuration,
  create: (configuration: Configuration) => Promise<NestFastifyApplication>,
): Promise<NestFastifyApplication> {
  const { host } = configuration;
  configuration.port = await availablePort(configuration.port, host);
  const app = await create(configuration);
  try {
    await app.listen({ port: configuration.port, host });
    return app;
  } catch (error) {
    await app.close();
    throw asStartupError(error, configuration.port, host);
  }
}

function availablePort(port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(asStartupError(error, port, host)));
    probe.listen({ port, host }, () => {
      const address = probe.address();
      const found = typeof address === 'object' && address ? address.port : port;
      probe.close(() => resolve(found));
    });
  });
}

function asStartupError(error: unknown, port: number, host: string): Error {
  const sentences: Record<string, string> = {
    EADDRINUSE: `Port ${port} is taken; stop what listens there, or set PORT to another one (0 finds a free one).`,
    EACCES: `Port ${port} needs privileges that this user does not have; set PORT to 1024 or above.`,
    EADDRNOTAVAIL: `${host} is no address of this machine; set HOST to 127.0.0.1 or 0.0.0.0.`,
    ENOTFOUND: `${host} is no address of this machine; set HOST to 127.0.0.1 or 0.0.0.0.`,
  };
  const sentence = sentences[(error as NodeJS.ErrnoException).code ?? ''];
  if (sentence === undefined) return error instanceof Error ? error : new Error(String(error));
  return new StartupError(sentence, { cause: error });
}
