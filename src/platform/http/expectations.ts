import type { FastifyInstance } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Requests whose client waits to be asked for the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/**
 * Takes over `Expect`. A client that waits with its body is asked for it when somebody reads it: what is refused before
 * costs no upload. Node would ask every one at once.
 *
 * @returns whether a request expects something else. Node would refuse those without a body, a request id and a line in the
 * log, so they are sent on as if they had none.
 */
export function takeExpectations({ server }: FastifyInstance): (request: IncomingMessage) => boolean {
  const unmet = new WeakSet<IncomingMessage>();
  const sendOn = (request: IncomingMessage, response: ServerResponse): void => {
    response.setHeader('connection', 'close'); // the body may never come, and nobody can tell where the next request begins
    server.emit('request', request, response);
  };
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(request, response);
    sendOn(request, response);
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    unmet.add(request);
    sendOn(request, response);
  });
  return (request) => unmet.has(request);
}

/** To be called before a body is read. */
export function askForBody(request: IncomingMessage): void {
  const response = waiting.get(request);
  if (!response || response.headersSent) return;
  waiting.delete(request);
  response.removeHeader('connection');
  response.writeContinue();
}
