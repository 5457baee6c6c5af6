/** Texts of the area "chat". */
import { area } from './messages'

export const chat = area({ title: 'Chat' }, { title: 'Chat' })
