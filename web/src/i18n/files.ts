/** Texts of the area "files". */
import { area } from './messages'

export const files = area({ title: 'Files' }, { title: 'Files' })
