import { type TOTP, URI } from 'otpauth';
import supertest from 'supertest';
import { BASE_URL, type TestService } from './service.js';

export const STEP_MS = 30_000;

/** An active second factor. Its codes come from an independent implementation of TOTP. */
export interface TestFactor {
  readonly backupCodes: readonly string[];
  /** The code at the service's current time, or later. */
  code(afterMs?: number): string;
}

/** Turns the second factor on over the API. That uses up a code, so the clock is advanced by a step. */
export async function turnOnFactor(service: TestService, session: string): Promise<TestFactor> {
  const post = (action: string, body: object): supertest.Test =>
    supertest(service.url)
      .post(`/api/auth/two-factor/${action}`)
      .set({ Origin: BASE_URL, Authorization: `Bearer ${session}` })
      .send(body)
      .expect(200);
  const { totpURI } = (await post('enable', {})).body as { totpURI: string };
  const code = codesOf(service, totpURI);
  const { backupCodes } = (await post('verify-totp', { code: code() })).body as { backupCodes: string[] };
  service.clock.advance(STEP_MS);
  return { backupCodes, code };
}

/** Computes the codes of an `otpauth:` URI. */
export function codesOf({ clock }: TestService, uri: string): TestFactor['code'] {
  const totp = URI.parse(uri) as TOTP;
  return (afterMs = 0) => totp.generate({ timestamp: clock.now().getTime() + afterMs });
}
