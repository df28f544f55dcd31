import { createECDH } from 'node:crypto';
import webPush from 'web-push';

/** The key pair by which push services know this service, both halves in base64url. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

export function generateVapidKeys(): VapidKeys {
  return webPush.generateVAPIDKeys();
}

/** Whether two keys are halves of one. */
export function isVapidKeyPair(publicKey?: string, privateKey?: string): boolean {
  const curve = createECDH('prime256v1');
  try {
    curve.setPrivateKey(privateKey ?? '', 'base64url');
    return curve.getPublicKey('base64url') === publicKey;
  } catch {
    return false;
  }
}
