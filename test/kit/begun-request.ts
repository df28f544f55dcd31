import type supertest from 'supertest';
import { Authenticator } from '../../src/domain/auth/index.js';
import { eventually } from './eventually.js';
import type { TestService } from './service.js';

/**
 * Sends a request but for the last byte of its body. Resolves when its token was found good, with what sends that byte and
 * gives the answer.
 * @param service where it is sent to; nobody else may ask there meanwhile
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
