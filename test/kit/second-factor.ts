import { type TOTP, URI } from 'otpauth';
import supertest from 'supertest';
import { BASE_URL, type TestService } from './service.js';

export const STEP_MS = 30_000;

/** A second factor that is on. A second implementation of TOTP computes its codes. */
export interface TestFactor {
  readonly backupCodes: readonly string[];
  /** The code of the service's present step, or of another. */
  code(afterMs?: number): string;
}

/** Turns the second factor on, over the API. The code for that is used up, so the clock moves on by a step. */
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

/** The codes of an `otpauth:` address. */
export function codesOf({ clock }: TestService, uri: string): TestFactor['code'] {
  const totp = URI.parse(uri) as TOTP;
  return (afterMs = 0) => totp.generate({ timestamp: clock.now().getTime() + afterMs });
}
