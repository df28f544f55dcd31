import { generateVapidKeys } from '../web-push/index.js';
import type { Report } from './report.js';

/** A key pair for Web Push, as lines for `.env`. Changes nothing, and needs neither service nor database. */
export function generateVapid(subject: string): Promise<Report> {
  const { publicKey, privateKey } = generateVapidKeys();
  const variables = {
    VAPID_PUBLIC_KEY: publicKey,
    VAPID_PRIVATE_KEY: privateKey,
    VAPID_SUBJECT: subject,
  };
  const text = Object.entries(variables)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
  return Promise.resolve({ ...variables, text });
}
