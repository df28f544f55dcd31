import { IsEmail, Length, Matches } from 'class-validator';

export class DevLoginRequest {
  @IsEmail()
  email: string;

  @Matches(/^\P{Cc}*$/u, { message: 'name must be text without control characters' })
  @Length(1, 255)
  name: string;
}
