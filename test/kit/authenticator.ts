import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** What an authenticator signs; a test can make parts of it wrong. */
export interface Ceremony {
  readonly challenge: string;
  readonly origin: string;
  readonly rpId?: string;
  /** Whether it claims to have verified the user. */
  readonly isVerified?: boolean;
}

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

/** A software authenticator with one ES256 credential. It can also misbehave. */
export class TestAuthenticator {
  readonly id = randomBytes(32).toString('base64url');
  counter = 0;
  private readonly privateKey: KeyObject;
  private readonly publicKey: Buffer;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
    this.privateKey = privateKey;
    const [bytesX, bytesY] = [x, y].map((one) => Buffer.from(one, 'base64url'));
    // COSE: { 1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y }
    this.publicKey = Buffer.concat([
      Buffer.from('a5010203262001215820', 'hex'),
      bytesX!,
      Buffer.from('225820', 'hex'),
      bytesY!,
    ]);
  }

  /** The answer to `generate-register-options`. */
  register(ceremony: Ceremony): object {
    const id = Buffer.from(this.id, 'base64url');
    const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, this.publicKey]);
    const authData = Buffer.concat([this.data(ceremony, HAS_CREDENTIAL), credential]);
    // { fmt: "none", attStmt: {}, authData }
    const head = Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746158', 'hex');
    const attestationObject = Buffer.concat([head, Buffer.from([authData.length]), authData]);
    return this.wire({
      clientDataJSON: clientData('webauthn.create', ceremony),
      attestationObject: attestationObject.toString('base64url'),
    });
  }

  /** The answer to `generate-authenticate-options`. */
  assert(ceremony: Ceremony): object {
    this.counter++;
    const authenticatorData = this.data(ceremony);
    const clientDataJSON = clientData('webauthn.get', ceremony);
    const hash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest();
    const signature = sign('sha256', Buffer.concat([authenticatorData, hash]), this.privateKey);
    return this.wire({
      clientDataJSON,
      authenticatorData: authenticatorData.toString('base64url'),
      signature: signature.toString('base64url'),
    });
  }

  private data({ rpId = 'localhost', isVerified = true }: Ceremony, more = 0): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    const flags = USER_PRESENT | (isVerified ? USER_VERIFIED : 0) | more;
    return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), counter]);
  }

  private wire(response: object): object {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response };
  }
}

const clientData = (type: string, { challenge, origin }: Ceremony): string =>
  Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false })).toString('base64url');
