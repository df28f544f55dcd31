import type supertest from 'supertest';
import { Authenticator } from '../../src/domain/auth/index.js';
import { eventually } from './eventually.js';
import type { TestService } from './service.js';

/**
 * Sends a request without the last byte of its body. Resolves once its token was accepted, with a function that sends the
 * byte and returns the answer.
 * @param service the receiver; no other requests may be sent to it meanwhile
 */
export async function begunRequest(
  service: TestService,
  request: supertest.Test,
  body: Buffer | string,
): Promise<() => Promise<supertest.Response>> {
  const bytes = Buffer.from(body);
  const verify = jest.spyOn(service.app.get(Authenticator, { strict: false }), 'verify');
  request.set('Content-Length', String(bytes.length)).write(bytes.subarray(0, -1));
  await eventually(() => expect(verify).toHaveBeenCalled());
  await verify.mock.results[0]?.value;
  verify.mockRestore();
  return async () => request.send(bytes.subarray(-1));
}
