import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { type Certificates, createCertificates } from './certificates.js';
import { eventually } from './eventually.js';
import { partsOf } from './mime.js';

const USER = 'sync';
const PASSWORD = 'p@ss:word/ü';

/** A mail as received by the server. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Unfolded header fields, by name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly html: string;
  /** The complete message as received. */
  readonly raw: string;
  readonly isEncrypted: boolean;
  readonly user: string | undefined;
}

/** Faults of the server, until they are changed. */
export interface SmtpFaults {
  /** The status for RCPT TO of an address; undefined to accept it. */
  refuse?: ((address: string) => number | undefined) | undefined;
  /** Accepts the mail, but closes the connection before the answer to DATA. */
  losesAnswer?: boolean;
  /** Delays the answer to DATA until this resolves. */
  hold?: Promise<void> | undefined;
  /** The status for all mails after DATA. */
  refuseContent?: number | undefined;
}

export interface SmtpOptions {
  /** Without TLS and without authentication. */
  readonly isPlain?: boolean;
  /** The interface to listen on; loopback by default. */
  readonly host?: string;
}

type Done = (error?: Error | null, message?: string) => void;

/** A real mail server that requires STARTTLS and authentication. */
export class TestSmtp {
  readonly received: ReceivedMail[] = [];
  readonly faults: SmtpFaults = {};
  /** Number of connections so far. */
  connections = 0;
  private readonly sockets = new Set<Socket>();
  private server: SMTPServer | undefined;
  private port = 0;

  private constructor(
    private readonly certificates: Certificates,
    private readonly options: SmtpOptions,
  ) {}

  static async start(options: SmtpOptions = {}): Promise<TestSmtp> {
    const smtp = new TestSmtp(createCertificates('localhost'), options);
    await smtp.comeBack();
    return smtp;
  }

  /** The settings of a service that sends through it. */
  get env(): Record<string, string> {
    const { isPlain, host = '127.0.0.1' } = this.options;
    const user = isPlain ? '' : `${USER}:${encodeURIComponent(PASSWORD)}@`;
    return { SMTP_URL: `smtp://${user}${host}:${this.port}`, MAIL_FROM: 'Example Sync <sync@example.org>' };
  }

  /** The mails to an address, oldest first. */
  to(address: string): ReceivedMail[] {
    return this.received.filter((mail) => mail.to.includes(address));
  }

  /** The only mail to an address; waits for it. */
  async mailTo(address: string): Promise<ReceivedMail> {
    await eventually(() => expect(this.to(address)).toHaveLength(1));
    return this.to(address)[0]!;
  }

  /** Closes its port and all connections, like a server that is down. */
  async goAway(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    this.cut();
    if (server) await new Promise<void>((resolve) => server.close(resolve));
  }

  /** Listens again, on the same port. */
  async comeBack(): Promise<void> {
    this.server = new SMTPServer(this.serverOptions());
    this.server.on('error', () => undefined); // errors of cut connections
    const listening = this.server.listen(this.port, this.options.host ?? '127.0.0.1');
    listening.on('connection', (socket: Socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
    });
    await once(listening, 'listening');
    this.port = (listening.address() as AddressInfo).port;
  }

  private cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private serverOptions(): SMTPServerOptions {
    const { cert, key } = this.certificates;
    const isPlain = this.options.isPlain === true;
    return {
      cert,
      key,
      hideSTARTTLS: isPlain,
      authOptional: isPlain,
      disabledCommands: isPlain ? ['STARTTLS', 'AUTH'] : [],
      disableReverseLookup: true,
      closeTimeout: 100,
      logger: false,
      onAuth: ({ username, password }, _, done) => {
        if (username === USER && password === PASSWORD) done(null, { user: USER });
        else done(new Error('Invalid username or password'));
      },
      onRcptTo: ({ address }, _, done) => done(refusal(this.faults.refuse?.(address), `<${address}>`)),
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => void this.keep(Buffer.concat(chunks), session, done));
      },
    };
  }

  private async keep(content: Buffer, session: SMTPServerSession, done: Done): Promise<void> {
    const { refuseContent, losesAnswer, hold } = this.faults;
    await hold;
    if (refuseContent !== undefined) {
      done(refusal(refuseContent, 'the content'));
      return;
    }
    this.received.push(asReceived(content, session));
    if (losesAnswer) this.cut();
    else done(null, 'queued as 4711');
  }
}

function refusal(responseCode: number | undefined, what: string): Error | null {
  return responseCode === undefined ? null : Object.assign(new Error(`${what} is refused`), { responseCode });
}

function asReceived(content: Buffer, { envelope, secure, user }: SMTPServerSession): ReceivedMail {
  const raw = content.toString();
  const { headers, parts } = partsOf(raw);
  const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
  const to = envelope.rcptTo.map(({ address }) => address);
  const { 'text/plain': text = '', 'text/html': html = '' } = parts;
  return { from, to, headers, text, html, raw, isEncrypted: secure, user };
}
