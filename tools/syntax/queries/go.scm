(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @receiver))
  name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(interface_type (method_elem name: (field_identifier) @name) @method)
(source_file (const_declaration (const_spec (identifier) @name) @constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @variable)))
(type_spec type: (struct_type (field_declaration_list (field_declaration name: (field_identifier) @name @asked) @field)))
((call_expression function: (selector_expression field: (field_identifier) @unused)
  arguments: (argument_list . [(interpreted_string_literal) (raw_string_literal)] @title . (func_literal))) @test (#eq? @unused "Run"))
