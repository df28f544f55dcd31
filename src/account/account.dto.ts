import { IsString } from 'class-validator';

export class DeleteAccountRequest {
  /** The account's own email address, so that nobody does it by accident. */
  @IsString({ message: 'confirm must be the email address of the account' })
  confirm: string;
}
