import { SigningKeys } from '../auth/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** After AUTH_SECRET has changed. */
export function renewSigningKeys(): Promise<Report> {
  return withService(async (service) => {
    await service.get(SigningKeys).renew();
    return {
      text: 'Made a new signing key. JWTs made before are refused; clients get new ones by their session.',
    };
  });
}
