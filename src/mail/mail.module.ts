import { Module } from '@nestjs/common';
import { Mail } from './mail.js';
import { MailDispatcher } from './mail-dispatcher.js';
import { MailQueue } from './mail-queue.js';
import { SmtpSender } from './smtp-sender.js';

@Module({
  providers: [Mail, MailDispatcher, MailQueue, SmtpSender],
  exports: [Mail, SmtpSender],
})
export class MailModule {}
