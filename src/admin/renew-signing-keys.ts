import { SigningKeys } from '../auth/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';

/** After AUTH_SECRET has changed. */
export function renewSigningKeys(): Promise<Report> {
  return withService(async (service) => {
    const removed = await service.get(SigningKeys).count();
    await service.get(SigningKeys).renew();
    const text =
      'Made a new signing key. JWTs made before are refused; clients get new ones by their session.';
    return { removed, text };
  });
}

export function previewSigningKeys(): Promise<Report> {
  return withService(async (service) => {
    const removed = await service.get(SigningKeys).count();
    const text = `${removed} signing ${removed === 1 ? 'key' : 'keys'} would be replaced by a new one; every JWT would be refused`;
    return { dryRun: true, removed, text };
  });
}
