import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  type ECDH,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type JWTPayload, jwtVerify } from 'jose';
import { Outbound, type OutboundOptions } from '../../src/platform/outbound.js';
import { createCertificates } from './certificates.js';
import { type NameServer, startNameServer } from './name-server.js';

const HOST = 'push.example.org';

/** The push service's address according to the name server, in the public internet. */
export const PUBLIC_ADDRESS = '93.184.215.14';

/** One push as received by the push service and the browser behind it. */
export interface ReceivedPush {
  readonly method: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Decrypted with the browser's keys. */
  readonly payload: string;
  /** Claims of the VAPID token, whose signature was verified with `vapidKey`. */
  readonly claims: JWTPayload;
  readonly vapidKey: string;
}

/** A browser that has subscribed to the push service. */
export interface Browser {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
  /** Pushes that could be decrypted. */
  readonly received: ReceivedPush[];
  /** Every request to its endpoint, readable or not. */
  requests: number;
  /** How the push service answers from now on; 201 by default. */
  respond: (response: ServerResponse) => void | Promise<void>;
}

/**
 * A push service as browsers have one: HTTPS with its own authority, at the only public address of a network that is
 * simulated on this machine. Records a fault for pushes that it cannot decrypt (RFC 8291) or verify (RFC 8292).
 */
export interface TestPushService {
  readonly origin: string;
  readonly names: NameServer;
  readonly faults: unknown[];
  /** Targets of the connections. */
  readonly dialled: string[];
  browser(): Browser;
  /** The network that contains it. */
  outbound(options?: OutboundOptions): Outbound;
  close(): Promise<void>;
}

export async function startPushService(): Promise<TestPushService> {
  const { ca, ...identity } = createCertificates(HOST);
  const names = await startNameServer();
  names.point(HOST, [PUBLIC_ADDRESS]);
  const browsers = new Map<string, Browser & { readonly ecdh: ECDH }>();
  const faults: unknown[] = [];
  const dialled: string[] = [];
  const server = createServer(identity, (request, response) => {
    const browser = browsers.get(request.url ?? '');
    if (!browser) return void response.writeHead(404).end();
    browser.requests++;
    receive(request, browser, origin)
      .then(
        (push) => browser.received.push(push),
        (fault: unknown) => faults.push(fault),
      )
      .then(() => browser.respond(response))
      .catch((fault: unknown) => faults.push(fault));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `https://${HOST}:${(server.address() as AddressInfo).port}`;

  const browser = (): Browser => {
    const ecdh = createECDH('prime256v1');
    const path = `/push/${randomBytes(24).toString('base64url')}`;
    const keys = { p256dh: ecdh.generateKeys('base64url'), auth: randomBytes(16).toString('base64url') };
    const made = { ecdh, keys, endpoint: origin + path, received: [], requests: 0, respond: created };
    browsers.set(path, made);
    return made;
  };
  const dial = (address: string): string => {
    dialled.push(address);
    return '127.0.0.1';
  };
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await names.close();
  };
  const outbound = (options: OutboundOptions = {}): Outbound =>
    new Outbound({ dnsServers: [names.address], ca, dial, ...options });
  return { origin, names, faults, dialled, browser, outbound, close };
}

function created(response: ServerResponse): void {
  response.writeHead(201, { location: `https://${HOST}/message` }).end();
}

async function receive(
  request: IncomingMessage,
  browser: Browser & { readonly ecdh: ECDH },
  origin: string,
): Promise<ReceivedPush> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method, headers } = request;
  const payload = decrypt(Buffer.concat(chunks), browser.ecdh, Buffer.from(browser.keys.auth, 'base64url'));
  const [, token = '', vapidKey = ''] = /^vapid t=([^,]+), k=(\S+)$/.exec(headers.authorization ?? '') ?? [];
  const { payload: claims } = await jwtVerify(token, publicKeyOf(vapidKey), {
    algorithms: ['ES256'],
    audience: origin,
    requiredClaims: ['exp', 'sub'],
  });
  return { method, headers, payload, claims, vapidKey };
}

function publicKeyOf(raw: string): KeyObject {
  const point = Buffer.from(raw, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}

/** RFC 8291 for one record: salt, record size, the sender's key, then AES-128-GCM with keys derived from them. */
function decrypt(body: Buffer, ecdh: ECDH, auth: Buffer): string {
  const salt = body.subarray(0, 16);
  const senderKey = body.subarray(21, 21 + body[20]!);
  const derive = (secret: Buffer, of: Buffer, info: Buffer | string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', secret, of, info, length));
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), senderKey]);
  const secret = derive(ecdh.computeSecret(senderKey), auth, info, 32);
  const key = derive(secret, salt, 'Content-Encoding: aes128gcm\0', 16);
  const nonce = derive(secret, salt, 'Content-Encoding: nonce\0', 12);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAuthTag(body.subarray(-16));
  const padded = Buffer.concat([
    decipher.update(body.subarray(21 + senderKey.length, -16)),
    decipher.final(),
  ]);
  const end = padded.lastIndexOf(2); // the delimiter of the last record; zeros may follow
  if (end < 0 || padded.subarray(end + 1).some((byte) => byte !== 0))
    throw new Error('the padding is not valid');
  return padded.subarray(0, end).toString();
}
