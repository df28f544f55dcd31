import { Injectable } from '@nestjs/common';
import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { addressIn, Configuration, type SmtpServer, smtpServerIn } from '../config/index.js';
import type { Message } from './templates.js';

/** Limits of one attempt, in milliseconds; together less than the lease of a mail. */
const LIMITS = {
  dnsTimeout: 10_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 20_000,
};

/** For one attempt as a whole. */
const TOTAL_MS = 60_000;

/**
 * The result of an attempt. `refused`: the server will never accept this mail for this recipient. `reason` and `response` may
 * contain the address and must not be logged; `code` may be.
 */
export type SmtpResult =
  | { readonly outcome: 'sent'; readonly response: string }
  | { readonly outcome: 'refused' | 'failed'; readonly reason: string; readonly code: string };

/** The fields that nodemailer adds to its errors. */
interface SmtpFault extends Error {
  readonly code?: string;
  readonly command?: string;
  readonly responseCode?: number;
}

/** Sends single mails to the configured server, each over its own connection. */
@Injectable()
export class SmtpSender {
  private readonly underWay = new Set<SMTPConnection>();
  private isStopped = false;

  constructor(private readonly configuration: Configuration) {}

  /**
   * Sends a message. Ends within a minute, whatever the server does. Never rejects.
   * @param id the same for each attempt at a mail, so that a recipient can recognise a repeat by its Message-ID
   */
  async send(to: string, message: Message, id: string): Promise<SmtpResult> {
    const { smtpUrl = '', mailFrom = '' } = this.configuration;
    const server = smtpServerIn(smtpUrl);
    const from = addressIn(mailFrom);
    if (!server || !from) return { outcome: 'failed', reason: 'SMTP_URL is not set', code: 'NOT_CONFIGURED' };
    try {
      const mail = new MailComposer({
        from: mailFrom,
        to: { name: '', address: to },
        subject: message.subject,
        text: message.text,
        html: message.html,
        messageId: `<${id}@${from.split('@')[1]}>`,
        headers: { 'Auto-Submitted': 'auto-generated', ...unsubscribeHeaders(message) },
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      return {
        outcome: 'sent',
        response: await this.deliver(server, from, to, await mail.compile().build()),
      };
    } catch (error) {
      return resultOf(error as SmtpFault);
    }
  }

  /** Aborts all current and later attempts, which then fail. */
  stop(): void {
    this.isStopped = true;
    for (const connection of this.underWay) connection.close();
  }

  private async deliver(server: SmtpServer, from: string, to: string, content: Buffer): Promise<string> {
    if (this.isStopped) throw new Error('the service is shutting down');
    const connection = new SMTPConnection(optionsFor(server, this.configuration.publicUrl));
    this.underWay.add(connection);
    const deadline = setTimeout(() => connection.close(), TOTAL_MS);
    try {
      return await converse(connection, server, { from, to: [to] }, content);
    } finally {
      clearTimeout(deadline);
      this.underWay.delete(connection);
      connection.close();
    }
  }
}

/** RFC 8058: mail programs offer a button that posts to the link. */
function unsubscribeHeaders({ unsubscribe }: Message) {
  if (unsubscribe === undefined) return {};
  return {
    'List-Unsubscribe': { prepared: true, value: `<${unsubscribe}>` },
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
}

function optionsFor({ host, port, isSecure, needsTls, isLoopback }: SmtpServer, publicUrl: string) {
  return {
    ...LIMITS,
    host,
    port,
    secure: isSecure,
    requireTLS: needsTls && !isSecure,
    name: new URL(publicUrl).hostname,
    tls: { rejectUnauthorized: !isLoopback },
    logger: false,
  };
}

/** Connects, signs in if there are credentials, and sends. Returns the server's response to the mail. */
function converse(
  connection: SMTPConnection,
  { credentials }: SmtpServer,
  envelope: { from: string; to: string[] },
  content: Buffer,
): Promise<string> {
  return new Promise((resolve, reject) => {
    connection.once('error', reject);
    connection.once('end', () => reject(new Error('the connection was closed')));
    const send = (): void =>
      connection.send(envelope, content, (error, info) => {
        if (error) reject(error);
        else resolve(info.response);
      });
    connection.connect((error) => {
      if (error) reject(error);
      else if (!credentials) send();
      else
        connection.login(credentials, (refusal) => {
          if (refusal) reject(refusal);
          else send();
        });
    });
  });
}

const IS_PERMANENT = 500;

/** Only the recipient and the message can be refused for good: a refused sender or sign-in is a fault of the settings. */
function resultOf({ message, code = 'ERROR', command = '', responseCode }: SmtpFault): SmtpResult {
  const isOfMail = command === 'RCPT TO' || command === 'DATA';
  const isRefused = isOfMail && responseCode !== undefined && responseCode >= IS_PERMANENT;
  const codes = [code, command, responseCode].filter(Boolean).join(' ');
  return { outcome: isRefused ? 'refused' : 'failed', reason: message, code: codes };
}
