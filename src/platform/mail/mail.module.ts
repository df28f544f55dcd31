import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Mail } from './mail.js';
import { MailDispatcher } from './mail-dispatcher.js';
import { MailQueue } from './mail-queue.js';
import { SmtpSender } from './smtp-sender.js';
import { WaitingMail } from './waiting-mail.entity.js';

@Module({
  imports: [TypeOrmModule.forFeature([WaitingMail])],
  providers: [Mail, MailDispatcher, MailQueue, SmtpSender],
  exports: [Mail, SmtpSender],
})
export class MailModule {}
